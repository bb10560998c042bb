/** Every framework, in the order of precedence: a framework that is built on others comes before them. */
import { angular } from './angular.ts'
import { astro } from './astro.ts'
import { docusaurus } from './docusaurus.ts'
import { eleventy } from './eleventy.ts'
import type { Framework } from './framework.ts'
import { gatsby } from './gatsby.ts'
import { next } from './next.ts'
import { node } from './node.ts'
import { nuxt } from './nuxt.ts'
import { reactRouter } from './react-router.ts'
import { remix } from './remix.ts'
import { solidStart } from './solid-start.ts'
import { staticFiles } from './static.ts'
import { sveltekit } from './sveltekit.ts'
import { unknown } from './unknown.ts'
import { vite } from './vite.ts'
import { vitepress } from './vitepress.ts'

export const FRAMEWORKS: readonly Framework[] = [
  next,
  nuxt,
  astro,
  sveltekit,
  gatsby,
  reactRouter,
  remix,
  solidStart,
  docusaurus,
  angular,
  eleventy,
  vitepress,
  vite,
  node,
  staticFiles,
  unknown,
]
