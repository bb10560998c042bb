import { Link } from 'gatsby'

export default function Home() {
  return (
    <main>
      <h1>Hello from Gatsby</h1>
      <Link to="/about/">About</Link>
    </main>
  )
}

export const Head = () => <title>Gatsby example</title>
