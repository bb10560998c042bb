/** What kind of file it is, by its name. */

/** Formats that are already compressed: stored without compression. */
const PACKED = /\.(?:avif|br|gif|gz|jpe?g|mp[34]|ogg|png|tgz|webm|webp|woff2?|zip)$/i

export const isPacked = (path: string): boolean => PACKED.test(path)

/** Whether a dropped or chosen file is an archive itself, and not a file to pack. */
export const isArchive = (name: string): boolean => /\.zip$/i.test(name)
