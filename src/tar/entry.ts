/** The entries of a tar, and what one use of the format allows. */

export type TarKind = 'file' | 'folder' | 'symlink' | 'hardlink' | 'whiteout'

/** The overlay's mark on a folder that hides what lies below it, as one of its two kinds of attributes. */
export type Opaque = 'trusted' | 'user'

export type TarEntry<Kind extends TarKind = TarKind> = {
  /** With `/` between names and none at the end. */
  path: string
  /** A whiteout marks, in an overlay, that a file of a lower layer was removed. */
  kind: Kind
  /** The permission bits. */
  mode: number
  uid: number
  gid: number
  /** Seconds since 1970, of the last change. */
  time: number
  /** The size of a file; 0 for every other kind. */
  size: number
  /** The target of a link: any text. */
  to?: string
  opaque?: Opaque
}

export type TarFormat<Kind extends TarKind> = {
  /** The reader refuses every other kind. */
  kinds: readonly Kind[]
  /** Whether names with other characters than ASCII are in extended headers, on whose encoding all readers agree. */
  isHeaderAscii: boolean
  /** The fields of the extended header before an entry. */
  extended(entry: TarEntry): Pick<TarEntry, 'mode' | 'uid' | 'gid' | 'time'>
  /** The error about a tar that is not as the writer writes it. */
  broken(how: string, options?: ErrorOptions): Error
}
