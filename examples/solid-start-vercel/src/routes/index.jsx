import { A } from '@solidjs/router'

export default function Home() {
  return (
    <main>
      <h1>Hello from SolidStart</h1>
      <A href="/about">About</A>
    </main>
  )
}
