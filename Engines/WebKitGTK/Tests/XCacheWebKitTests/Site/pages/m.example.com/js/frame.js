parent.framed = location.pathname + ' ' + origin;
