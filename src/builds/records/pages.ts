/**
 * The pages of an output: every HTML document in it. For static files these are the pages that visitors can open; for a server
 * they are the prerendered pages, without those that it renders on request.
 */
import { opendir } from 'node:fs/promises'
import { join } from 'node:path'

/** Above these limits, the rest is ignored. */
export const PAGE_LIMITS = { entries: 500_000, pages: 100_000, depth: 64 } as const

const AT_A_TIME = 256

/** `folder` is a stored output, which does not change. Links are not followed. */
export async function pagesIn(
  folder: string,
  limits: { entries: number; pages: number; depth: number } = PAGE_LIMITS,
): Promise<Set<string>> {
  const pages = new Set<string>()
  let entries = 0
  const isFull = () => entries >= limits.entries || pages.size >= limits.pages

  async function walk(path: string, depth: number) {
    for await (const entry of await opendir(join(folder, path), { bufferSize: AT_A_TIME })) {
      if (isFull()) return
      entries += 1
      const inner = join(path, entry.name)
      // A name that is not UTF-8 cannot be opened by its decoded form.
      if (inner.includes('\u{fffd}')) continue
      if (entry.isFile() && /\.html?$/i.test(entry.name)) pages.add(pageName(inner))
      if (entry.isDirectory() && !SKIPPED.test(inner) && depth < limits.depth) await walk(inner, depth + 1)
    }
  }

  await walk('', 0)
  return pages
}

/** Installed packages contain HTML files too, and caches are not pages. */
const SKIPPED = /(?:^|\/)(?:node_modules|\.cache|\.git|\.next\/cache)$/

/** Where frameworks put prerendered pages in the output of a server. */
const RENDERED =
  /^(?:.*\/)?(?:\.next\/server\/(?:app|pages)|\.output\/public|dist\/client|build\/client|(?:build\/)?prerendered(?:\/pages)?)\//

/** As a visitor would write it: `/blog/one` for `.next/server/app/blog/one.html` and for `blog/one/index.html`. */
export const pageName = (path: string): string =>
  `/${path.replace(RENDERED, '')}`.replace(/(?:(?<=\/)index)?\.html?$/i, '').replace(/(?<=.)\/$/, '')
