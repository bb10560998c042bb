import Link from 'next/link'

export const dynamic = 'force-dynamic'

export default function Home() {
  return (
    <main>
      <h1>{`${process.env.GREETING ?? 'Hello'} from Next.js`}</h1>
      <Link href="/about">About</Link>
    </main>
  )
}
