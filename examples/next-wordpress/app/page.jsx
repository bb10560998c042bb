import Link from 'next/link'
import { Html } from './html.jsx'
import { readPosts } from './wordpress.js'

export default async function Home() {
  const posts = await readPosts()
  return (
    <main>
      <h1>Posts of WordPress</h1>
      <ul>
        {posts.map(({ id, slug, title }) => (
          <li key={id}>
            <Link href={`/posts/${slug}`}>
              <Html as="span" html={title.rendered} />
            </Link>
          </li>
        ))}
      </ul>
    </main>
  )
}
