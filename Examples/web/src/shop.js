const shelf = [["honey", "PRICE"], ["milk", "1.10"]];

document.getElementById("shelf").append(...shelf.map(([name, price]) => {
  const item = document.createElement("li");
  item.textContent = `${name}: ${price}`;
  return item;
}));

// A release came while this page was open: offer it, and let the page as it is.
window.addEventListener("load", () => window.xcache?.on("updated", () => {
  const button = document.createElement("button");
  button.textContent = "There are new prices";
  button.onclick = () => window.xcache.reload("now");
  document.body.append(button);
}));
