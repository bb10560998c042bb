/** Apps that were made for another host: what stands in for its adapter or preset, and what is said of that. */
import type { Adapter, Plan } from '../plan.ts'
import type { Project } from '../project/project.ts'

/** Where packages stay packed, none of them can be given other files. */
export const canReplacePackages = (project: Project): boolean => !project.packages.isPlugAndPlay

/** The name of the package in `@astrojs/vercel/serverless`. */
export const packageIn = (module: string): string =>
  module
    .split('/')
    .slice(0, module.startsWith('@') ? 2 : 1)
    .join('/')

/** One package in the place of another. */
export const standIn = (
  kind: 'sveltekit' | 'astro',
  { replaces, by, peer, files = null }: Pick<Adapter, 'replaces' | 'by'> & { peer: string; files?: Adapter['files'] },
): Adapter => ({ replaces, by, environment: {}, module: { package: replaces, kind, peer }, files })

/** Nuxt reads either, Vinxi the second first. */
export const presetEnvironment = (preset: string) => ({ NITRO_PRESET: preset, SERVER_PRESET: preset })

/** One preset of Nitro in the place of another. A plugin is told by its package, since its options go before variables. */
export const presetInstead = (replaces: string, by: string, plugin: string | undefined): Adapter => ({
  replaces,
  by,
  environment: presetEnvironment(by),
  module: plugin === undefined ? null : { package: plugin, kind: 'nitro', peer: null },
  files: null,
})

/** In one sentence for people. */
export const aboutAdapter = ({ replaces, by, module }: Adapter): string =>
  module?.peer
    ? `${replaces} builds for another host, so ${by} takes its place`
    : `the preset ${replaces} builds for another host, so ${by} takes its place`

/** What an owner of the app may want to change one day; nothing for most apps. */
export const adapterWarning = ({ adapter }: Plan): string | undefined =>
  adapter &&
  `The app is built with ${adapter.by}, though it names ${adapter.replaces}, which builds for another host. Its options are not used. Name ${adapter.by} in the app to set options of your own.`
