import { unstable_cache } from 'next/cache'
import content from '../../../content.js'

export const revalidate = 3600

/** None at build time: each is made for its first reader, and kept. */
export const generateStaticParams = () => []

const read = unstable_cache(async () => content.text, ['content'], { tags: ['posts'] })

export default async function Tagged({ params }) {
  const { slug } = await params
  return <h1>{`Tagged ${slug} says ${await read()}`}</h1>
}
