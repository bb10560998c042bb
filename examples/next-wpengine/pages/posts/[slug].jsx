import content from '../../content.js'

export const getStaticPaths = () => ({ paths: [{ params: { slug: 'one' } }], fallback: 'blocking' })

export const getStaticProps = ({ params }) => ({ props: { slug: params.slug, text: content.text }, revalidate: 3600 })

export default function Post({ slug, text }) {
  return <h1>{`Post ${slug} says ${text}`}</h1>
}
