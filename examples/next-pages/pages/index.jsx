import Link from 'next/link'

export const getServerSideProps = () => ({ props: { greeting: process.env.GREETING ?? 'Hello' } })

export default function Home({ greeting }) {
  return (
    <main>
      <h1>{`${greeting} from Next.js`}</h1>
      <Link href="/about">About</Link>
    </main>
  )
}
