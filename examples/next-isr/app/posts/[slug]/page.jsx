export const revalidate = 3600

/** None at build time: each is made for its first reader, and kept. */
export const generateStaticParams = () => []

export default async function Post({ params }) {
  const { slug } = await params
  const answer = await fetch(`http://127.0.0.1:${process.env.PORT ?? 3000}/api/content`, { next: { tags: ['posts'] } })
  const { text } = await answer.json()
  return <h1>{`Post ${slug} says ${text}`}</h1>
}
