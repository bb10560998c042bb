import './style.css'

/** One page for every path, so the path is shown by the script. */
const app: HTMLElement | null = document.querySelector('#app')
if (app !== null) app.textContent = `Built by Vite, shown at ${location.pathname}`
