window.fromCDN = document.currentScript.src;
