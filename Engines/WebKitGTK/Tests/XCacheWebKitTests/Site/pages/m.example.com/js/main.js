import {count} from './state.js';
window.moduleURL = import.meta.url;
window.stateCount = count;
