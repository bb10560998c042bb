/** Apps that are configured for another host: what replaces its adapter or preset, and the sentences about it. */
import type { Adapter, Plan } from '../plan.ts'
import type { Project } from '../project/project.ts'

/** With Plug'n'Play the files of a package cannot be replaced. */
export const canReplacePackages = (project: Project): boolean => !project.packages.isPlugAndPlay

/** The name of the package in `@astrojs/vercel/serverless`. */
export const packageIn = (module: string): string =>
  module
    .split('/')
    .slice(0, module.startsWith('@') ? 2 : 1)
    .join('/')

/** One package replaces another. */
export const standIn = (
  kind: 'sveltekit' | 'astro',
  { replaces, by, peer, files = null }: Pick<Adapter, 'replaces' | 'by'> & { peer: string; files?: Adapter['files'] },
): Adapter => ({ replaces, by, environment: {}, module: { package: replaces, kind, peer }, files })

/** Nuxt reads both, and Vinxi prefers the second. */
export const presetEnvironment = (preset: string) => ({ NITRO_PRESET: preset, SERVER_PRESET: preset })

/** One preset of Nitro replaces another. For a plugin its package is replaced, since its options take precedence over variables. */
export const presetInstead = (replaces: string, by: string, plugin: string | undefined): Adapter => ({
  replaces,
  by,
  environment: presetEnvironment(by),
  module: plugin === undefined ? null : { package: plugin, kind: 'nitro', peer: null },
  files: null,
})

/** One sentence for the tenant. */
export const aboutAdapter = ({ replaces, by, module }: Adapter): string =>
  module?.peer
    ? `${replaces} builds for another host, so ${by} takes its place`
    : `the preset ${replaces} builds for another host, so ${by} takes its place`

/** A warning for the tenant; undefined for most apps. */
export const adapterWarning = ({ adapter }: Plan): string | undefined =>
  adapter &&
  `The app is built with ${adapter.by}, though it names ${adapter.replaces}, which builds for another host. Its options are not used. Name ${adapter.by} in the app to set options of your own.`
