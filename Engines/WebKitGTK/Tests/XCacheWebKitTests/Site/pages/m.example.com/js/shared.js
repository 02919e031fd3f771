onconnect = event => event.ports[0].postMessage([origin, location.pathname]);
