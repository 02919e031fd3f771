// The shelf of the demo shop, as a bundler would ship it: one module with a hash in its name.
const items = [
  { name: "Apples", unit: "1 kg", price: 2.9 },
  { name: "Bread", unit: "750 g", price: 3.4 },
  { name: "Butter", unit: "250 g", price: 2.6 },
  { name: "Coffee", unit: "500 g", price: 8.9 },
  { name: "Eggs", unit: "10", price: 3.2 },
  { name: "Honey", unit: "500 g", price: 5.9 },
  { name: "Milk", unit: "1 l", price: 1.4 },
];

const money = new Intl.NumberFormat("en", { style: "currency", currency: "EUR" });

function card({ name, unit, price }) {
  const box = document.createElement("article");
  box.className = "item";
  box.dataset.name = name;
  const title = document.createElement("b");
  title.textContent = name;
  const line = document.createElement("span");
  line.className = "price";
  line.textContent = `${money.format(price)} / ${unit}`;
  box.append(title, line);
  return box;
}

document.getElementById("shelf").append(...items.map(card));

// What is sold out in the reader's city: prefetch.json lets the app ask before this page does.
fetch(`/xhr/stock.json${location.search}`)
  .then((answer) => (answer.ok ? answer.json() : { soldOut: [] }))
  .then(({ soldOut }) => {
    for (const name of soldOut) document.querySelector(`[data-name="${name}"]`)?.classList.add("sold-out");
  })
  .catch(() => {}); // Offline, the shelf stands without it.
