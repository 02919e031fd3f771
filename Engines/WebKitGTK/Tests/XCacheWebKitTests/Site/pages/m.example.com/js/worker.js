importScripts('/js/imported.js');
onmessage = async event => {
  try { postMessage(await (0, eval)(`(async () => { ${event.data} })()`)) } catch (error) { postMessage('error ' + error) }
};
