import { Link } from 'react-router'

export const meta = () => [{ title: 'React Router example' }]

export const loader = () => ({ greeting: process.env.GREETING ?? 'Hello' })

export default function Home({ loaderData }) {
  return (
    <main>
      <h1>{`${loaderData.greeting} from React Router`}</h1>
      <Link to="/about">About</Link>
    </main>
  )
}
