import {count} from './state.js';
postMessage([import.meta.url, count, origin]);
