import { render } from 'solid-js/web'
import './style.css'

function App() {
  return (
    <>
      <h1>Hello from Solid</h1>
      <p>Shown at {location.pathname}</p>
    </>
  )
}

render(App, document.querySelector('#app'))
