import Link from '@docusaurus/Link'
import Layout from '@theme/Layout'

export default function Home() {
  return (
    <Layout>
      <main>
        <h1>Hello from Docusaurus</h1>
        <Link to="/docs/intro">Docs</Link>
      </main>
    </Layout>
  )
}
