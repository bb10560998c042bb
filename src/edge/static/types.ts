import type { SiteRules } from '../rules/rules.ts'

export type StaticFile = {
  /** Its path in the folder, when that is not its address. */
  path?: string
  size: number
  /** SHA-256 of the content, in hexadecimal. */
  digest: string
  /** The compressed encodings, where they save enough: paths relative to the manifest's folder. */
  br?: string
  gzip?: string
  brSize?: number
  gzipSize?: number
}

export type StaticManifest = SiteSettings & {
  /** By address: the path of a request, decoded. */
  files: Record<string, StaticFile>
}

/** What applies to the whole site. */
export type SiteSettings = {
  /** An unknown path without an extension gets the index.html at the top of the site. */
  singlePage: boolean
  /** The address of the 404.html at the top of the site when there is one. */
  notFound: string | null
  /** Where the site begins, such as '/docs', decoded; '' for the top of the host. */
  basePath: string
  /** Redirects, rewrites and headers that the site's author wrote. A manifest of an earlier version has none. */
  rules?: SiteRules
}
