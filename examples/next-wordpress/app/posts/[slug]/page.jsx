import { cookies, draftMode } from 'next/headers'
import Image from 'next/image'
import { notFound } from 'next/navigation'
import { Html } from '../../html.jsx'
import { coverOf, readDraft, readPost, readPosts } from '../../wordpress.js'

export async function generateStaticParams() {
  return (await readPosts()).map(({ slug }) => ({ slug }))
}

export default async function Post({ params }) {
  const { slug } = await params
  const { isEnabled } = await draftMode()
  const post = isEnabled ? await readDraft((await cookies()).get('preview')?.value) : await readPost(slug)
  if (!post) notFound()
  const cover = coverOf(post)
  return (
    <article>
      <Html as="h1" html={post.title.rendered} />
      {cover && <Image {...cover} />}
      <Html as="div" html={post.content.rendered} />
    </article>
  )
}
