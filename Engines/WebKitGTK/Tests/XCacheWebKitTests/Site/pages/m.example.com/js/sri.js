window.sri = true;
