export default function About() {
  return <h1>Rendered on the server</h1>
}
