/** What kind of file it is, by its name. */

/** Formats that are compressed already: they are put in as they are. */
const PACKED = /\.(?:avif|br|gif|gz|jpe?g|mp[34]|ogg|png|tgz|webm|webp|woff2?|zip)$/i

export const isPacked = (path: string): boolean => PACKED.test(path)

/** Whether one dropped or chosen file is an archive, and not a file to put into one. */
export const isArchive = (name: string): boolean => /\.zip$/i.test(name)
