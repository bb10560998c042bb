import { content } from '../app/content.js'

export const getStaticProps = () => ({ props: { text: content.text }, revalidate: 3600 })

export default function Legacy({ text }) {
  return <h1>{`The Pages Router says ${text}`}</h1>
}
