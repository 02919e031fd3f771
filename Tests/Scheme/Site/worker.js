onmessage = async ({ data }) => {
  try {
    const response = await fetch('/echo?case=worker-' + data, { method: 'POST', body: data === 'Blob' ? new Blob(['abc'], { type: 'image/png' }) : 'abc' });
    postMessage(response.status + ' ' + await response.text());
  } catch (error) {
    postMessage('refused');
  }
};
