/** The entries of a layer's tar, and the error about a layer that is not as Headland writes it. */

export type LayerEntry = {
  /** From the root of the image, with `/` between names and none at either end. */
  path: string
  kind: 'file' | 'folder' | 'symlink'
  mode: number
  /** User and group, which have the same number. */
  owner: number
  /** The size of a file; 0 for every other kind. */
  size: number
  /** The target of a link: any text. */
  to?: string
}

/** The time of every entry: equal files are equal bytes, whenever they were written. It is the first that a zip can hold. */
export const LAYER_TIME = Date.UTC(1980, 0, 1) / 1000

/** The user that the app of an image runs as, and that the folders belong to that it may write. */
export const APP_USER = 10_001

/** A name that marks, in a layer, that a file of a lower layer is removed. */
export const WHITEOUT = '.wh.'
/** A file with this name marks that nothing of the lower layers is seen in its folder. */
export const OPAQUE = '.wh..wh..opq'

export class LayerBroken extends Error {
  constructor(how: string, options?: ErrorOptions) {
    super(`A layer of the image is broken: ${how}.`, options)
    this.name = 'LayerBroken'
  }
}
