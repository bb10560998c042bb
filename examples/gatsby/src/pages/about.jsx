export default function About() {
  return <h1>Rendered by the build</h1>
}

export const Head = () => <title>About</title>
