export const getStaticProps = () => ({ props: { title: 'Rendered by the build' } })

export default function About({ title }) {
  return <h1>{title}</h1>
}
