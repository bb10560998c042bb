/** One page of real frameworks, rendered on request from a WordPress-like server, built and started by hand. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createSocket } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { until } from '../until.ts'

const PROJECT = fileURLToPath(new URL('../../..', import.meta.url))
const HOOK = join(PROJECT, 'src/runtime/hooks/content/content.cjs')

export type FrameworkApp = {
  /** The example with its packages and settings. */
  example: string
  /** Files of the example that are replaced. */
  without: readonly string[]
  files: Readonly<Record<string, string>>
  start: readonly string[]
}

const READ = `const read = async (path) => (await fetch(process.env.CMS_URL + '/wp-json/wp/v2' + path)).json()
  const load = async (slug) => {
    const [[post], recent, pages] = await Promise.all([
      read('/posts?slug=' + slug), read('/posts?per_page=10'), read('/pages?_fields=id,title,slug')])
    return { post, recent, pages }
  }`

/** `/p/SLUG` shows a post, the newest posts and a menu. `/kept/SLUG`, where there is one, is the same from a cache of the framework. */
export const FRAMEWORK_APPS: Readonly<Record<string, FrameworkApp>> = {
  'Next.js': {
    example: 'next',
    without: ['app/page.jsx', 'app/about', 'app/api'],
    files: {
      'app/kept/[slug]/route.js': `import { unstable_cache } from 'next/cache'
        ${READ}
        export async function GET(request, { params }) {
          request.headers.get('accept')
          return Response.json(await unstable_cache(load, ['kept'])((await params).slug))
        }`,
      'app/p/[slug]/page.jsx': `${READ}
        export const dynamic = 'force-dynamic'
        export default async function Page({ params }) {
          const { post, recent, pages } = await load((await params).slug)
          return <main>
            <nav>{pages.map((page) => <a key={page.id} href={page.slug}>{page.title.rendered}</a>)}</nav>
            <h1>{post.title.rendered}</h1><div dangerouslySetInnerHTML={{ __html: post.content.rendered }} />
            <ul>{recent.map((one) => <li key={one.id}>{one.title.rendered}</li>)}</ul>
          </main>
        }`,
    },
    start: ['node_modules/next/dist/bin/next', 'start', '-H', '127.0.0.1'],
  },
  Nuxt: {
    example: 'nuxt',
    without: ['app/pages', 'server'],
    files: {
      'server/routes/kept/[slug].js': `${READ}
        const kept = defineCachedFunction(load, { maxAge: 60, name: 'kept', getKey: (slug) => slug })
        export default defineEventHandler((event) => kept(getRouterParam(event, 'slug')))`,
      'server/api/[slug].js': `${READ}
        export default defineEventHandler((event) => load(getRouterParam(event, 'slug')))`,
      'app/pages/p/[slug].vue': `<script setup>
        const { data } = await useFetch('/api/' + useRoute().params.slug)
        </script>
        <template><main>
          <nav><a v-for="page in data.pages" :key="page.id" :href="page.slug">{{ page.title.rendered }}</a></nav>
          <h1>{{ data.post.title.rendered }}</h1><div v-html="data.post.content.rendered" />
          <ul><li v-for="one in data.recent" :key="one.id">{{ one.title.rendered }}</li></ul>
        </main></template>`,
    },
    start: ['.output/server/index.mjs'],
  },
  Astro: {
    example: 'astro-node',
    without: ['src/pages'],
    files: {
      'src/pages/p/[slug].astro': `---
        ${READ}
        const { post, recent, pages } = await load(Astro.params.slug)
        ---
        <html><body><main>
          <nav>{pages.map((page) => <a href={page.slug}>{page.title.rendered}</a>)}</nav>
          <h1>{post.title.rendered}</h1><div set:html={post.content.rendered} />
          <ul>{recent.map((one) => <li>{one.title.rendered}</li>)}</ul>
        </main></body></html>`.replaceAll(/^ {8}/gm, ''),
    },
    start: ['dist/server/entry.mjs'],
  },
  SvelteKit: {
    example: 'sveltekit',
    without: ['src/routes'],
    files: {
      'src/routes/p/[slug]/+page.server.js': `${READ.replace('const load =', 'const loadPost =')}
        export const load = ({ params }) => loadPost(params.slug)`,
      'src/routes/p/[slug]/+page.svelte': `<script>
        let { data } = $props()
        </script>
        <main>
          <nav>{#each data.pages as page}<a href={page.slug}>{page.title.rendered}</a>{/each}</nav>
          <h1>{data.post.title.rendered}</h1>{@html data.post.content.rendered}
          <ul>{#each data.recent as one}<li>{one.title.rendered}</li>{/each}</ul>
        </main>`,
    },
    start: ['build/index.js'],
  },
}

const environmentOf = (folder: string): NodeJS.ProcessEnv => ({
  PATH: `${join(PROJECT, 'node_modules', '.bin')}:${process.env.PATH}`,
  HOME: folder,
  CI: '1',
  NODE_ENV: 'production',
  NODE_USE_SYSTEM_CA: '1',
  NEXT_TELEMETRY_DISABLED: '1',
  ASTRO_TELEMETRY_DISABLED: '1',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_update_notifier: 'false',
})

/** Installs and builds it in a folder that does not exist yet. `packages` is a folder in which its packages are installed. */
export async function buildApp({ example, without, files }: FrameworkApp, folder: string, packages?: string) {
  await cp(join(PROJECT, 'examples', example), folder, {
    recursive: true,
    filter: (path) => !path.includes('node_modules'),
  })
  for (const path of without) await rm(join(folder, path), { recursive: true })
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  const options = { cwd: folder, env: environmentOf(folder), maxBuffer: 64 * 1024 * 1024 }
  const run = promisify(execFile)
  if (packages === undefined) await run('npm', ['ci', '--include=dev', '--prefer-offline'], options)
  else await run('cp', ['-al', join(packages, 'node_modules'), folder])
  await run('npm', ['run', 'build'], options)
}

export type StartedApp = AsyncDisposable & { url: string; pid: number; output(): string }

export async function startBuilt(
  { start }: FrameworkApp,
  folder: string,
  cms: string,
  isHooked: boolean,
): Promise<StartedApp> {
  const port = await freePort()
  const env = {
    ...environmentOf(folder),
    ...{ PORT: String(port), HOST: '127.0.0.1', CMS_URL: cms },
    ...(isHooked ? { HEADLAND_CONTENT_TAGS: 'on', NODE_OPTIONS: `--require=${HOOK}` } : {}),
  }
  const app: ChildProcess = spawn(process.execPath, start, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [app.stdout, app.stderr]) stream?.on('data', (chunk) => (output = (output + chunk).slice(-4000)))
  const url = `http://127.0.0.1:${port}`
  await until(async () => {
    if (app.exitCode !== null) throw new Error(`the app ended before it answered: ${output}`)
    return (await fetch(`${url}/p/post-1`).catch(() => undefined))?.ok
  })
  return {
    ...{ url, pid: app.pid ?? 0, output: () => output },
    async [Symbol.asyncDispose]() {
      const exited = once(app, 'exit')
      app.kill('SIGKILL')
      await exited
    },
  }
}

async function freePort(): Promise<number> {
  const server = createSocket().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

const postOf = (id: number) => ({
  ...{ id, type: 'post', slug: `post-${id}`, status: 'publish', link: `https://cms.example.com/post-${id}/` },
  ...{ title: { rendered: `Post ${id}` }, excerpt: { rendered: '<p>An excerpt of the post.</p>' } },
  content: { rendered: '<p class="wp-block-paragraph">A paragraph of a post, as editors write them.</p>\n'.repeat(40) },
  ...{ author: 1, featured_media: 0, categories: [3], tags: [], meta: [], _links: {} },
})

/** Answers as WordPress does for posts and pages. */
export async function startWordpressLike(): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://cms')
    const slug = url.searchParams.get('slug')
    const numbers = Array.from({ length: 10 }, (_, at) => at + 1)
    const pages = numbers.map((id) => ({ id: 100 + id, slug: `page-${id}`, title: { rendered: `Page ${id}` } }))
    const posts = slug === null ? numbers.map(postOf) : [postOf(Number(slug.replace('post-', '')))]
    response.setHeader('content-type', 'application/json; charset=UTF-8')
    response.end(JSON.stringify(url.pathname.endsWith('/pages') ? pages : posts))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}
