import Link from 'next/link'

export default function Home() {
  return (
    <main>
      <h1>Posts</h1>
      <Link href="/posts/one">One</Link>
    </main>
  )
}
