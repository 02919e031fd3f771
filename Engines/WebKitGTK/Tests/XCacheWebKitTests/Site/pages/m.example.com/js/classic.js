window.classic = document.currentScript.src;
