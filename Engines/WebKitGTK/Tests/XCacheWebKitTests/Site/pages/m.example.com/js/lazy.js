import {count} from './state.js'; export const value = 'lazy ' + count;
