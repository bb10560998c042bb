import content from '../content.js'

/** Rendered for each request, and kept by the edge under a tag. */
export function getServerSideProps({ res }) {
  res.setHeader('Cache-Control', 'public, s-maxage=3600')
  res.setHeader('Cache-Tag', 'latest')
  return { props: { text: content.text } }
}

export default function Latest({ text }) {
  return <h1>{`The latest is ${text}`}</h1>
}
