/** A CMS with a part of the API of WordPress: posts of two types, categories and users, and a call for each change. */
import type { Scope } from '../folder.ts'
import { startUpstream } from './edge.ts'

export type Post = {
  id: number
  type: 'post' | 'page'
  title: string
  author: number
  categories: number[]
  isPublished: boolean
}

export type TestCms = {
  url: string
  posts: Map<number, Post>
  terms: Map<number, string>
  users: Map<number, string>
  title: string
}

export async function startTestCms(t: Scope): Promise<TestCms> {
  const cms: TestCms = { url: '', posts: new Map(), terms: new Map(), users: new Map(), title: 'Site' }
  const shown = ({ isPublished: _, title, ...post }: Post) => ({ ...post, title: { rendered: title } })
  const published = (type: string) => [...cms.posts.values()].filter((post) => post.isPublished && post.type === type)

  function answer(path: string, query: URLSearchParams): unknown {
    const [kind = '', id] = path.replace(/^\/wp-json(?:\/wp\/v2)?\/?/, '').split('/')
    if (kind === '') return { name: cms.title }
    const named = kind === 'categories' ? cms.terms : kind === 'users' ? cms.users : undefined
    if (named) {
      const name = named.get(Number(id))
      return name === undefined ? undefined : { id: Number(id), name }
    }
    if (id !== undefined) {
      const post = cms.posts.get(Number(id))
      return post?.isPublished ? shown(post) : undefined
    }
    const [category, author] = [query.get('categories'), query.get('author')]
    const found = published(kind.replace(/s$/, ''))
      .filter((post) => category === null || post.categories.includes(Number(category)))
      .filter((post) => author === null || post.author === Number(author))
      .sort((one, other) => other.id - one.id)
    return found.slice(0, Number(query.get('per_page') ?? 100)).map(shown)
  }

  const { port } = await startUpstream(t, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://cms')
    const found = answer(pathname, searchParams)
    response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(found ?? { code: 'not_found' }))
  })
  cms.url = `http://127.0.0.1:${port}`
  return cms
}
