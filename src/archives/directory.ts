/**
 * The entries of a zip: read from its central directory, and compared with the local headers in front of their data. Nothing
 * is inflated here: what contradicts the headers is refused before anything is written.
 */
import { crc32 } from 'node:zlib'
import { fromRandomAccessReaderPromise, RandomAccessReader, type Entry as RawEntry } from 'yauzl'
import { Problem } from '../contract/index.ts'
import { type Directory, findDirectory } from './end.ts'
import type { ArchiveLimits } from './limits.ts'
import { decodeUtf8, faultOfName } from './names.ts'
import { encrypted, notZip, sizeLies, tooLarge, unsafe } from './refusals.ts'
import type { Window } from './window.ts'

export type ZipEntry = {
  /** Without the slash at the end of a folder's name. */
  name: string
  kind: 'file' | 'folder' | 'link'
  isExecutable: boolean
  isDeflated: boolean
  compressedBytes: number
  bytes: number
  crc32: number
  dataStart: number
}

/** An entry of the central directory whose local header has not been compared yet. */
type Claim = ZipEntry & { rawName: Buffer; flags: number; headerStart: number }

const HEADER = { signature: 0x04034b50, bytes: 30 }
const DIRECTORY_HEADER_BYTES = 46

/** General purpose bits (APPNOTE 4.4.4). */
const FLAG = { encrypted: 1, sizesFollow: 1 << 3, stronglyEncrypted: 1 << 6, utf8: 1 << 11, masked: 1 << 13 }
const FLAGS_ENCRYPTED = FLAG.encrypted | FLAG.stronglyEncrypted | FLAG.masked
/** Bits that change what a reader sees; the others are hints. */
const FLAGS_COMPARED = FLAGS_ENCRYPTED | FLAG.utf8

const METHOD = { stored: 0, deflated: 8 }
/** A deflate block gives at most 258 bytes for two bits. */
const MAX_DEFLATE_RATIO = 1032
/** Deflate makes a file at most a little larger, so an entry that is small unpacked is also small to read. */
const maxDeflatedBytes = (bytes: number): number => 2 * bytes + 64

export async function readDirectory(file: Window, limits: ArchiveLimits): Promise<ZipEntry[]> {
  const directory = await findDirectory(file)
  if (directory.entries > limits.entries) throw tooLarge('entries', limits)
  const claims = await readClaims(file, directory, limits)
  await confirm(file, directory, claims)
  return claims
}

async function readClaims(file: Window, directory: Directory, limits: ArchiveLimits): Promise<Claim[]> {
  const zip = await fromRandomAccessReaderPromise(new WindowReader(file), file.size, {
    decodeStrings: false,
    validateEntrySizes: false,
  }).catch((error: Error) => {
    throw notZip('it has no end that can be read', error)
  })
  if (zip.entryCount !== directory.entries) throw notZip('its directory can be read in two ways')
  const claims: Claim[] = []
  let position = directory.start
  let [bytes, namesBytes] = [0, 0]
  try {
    for await (const raw of zip.eachEntry()) {
      const claim = toClaim(raw, limits)
      position += DIRECTORY_HEADER_BYTES + raw.fileNameLength + raw.extraFieldLength + raw.fileCommentLength
      bytes += claim.bytes
      namesBytes += Math.max(claim.rawName.length, Buffer.byteLength(claim.name))
      if (bytes > limits.unpackedBytes) throw tooLarge('unpackedBytes', limits, claim.name)
      if (namesBytes > limits.namesBytes) throw tooLarge('namesBytes', limits, claim.name)
      claims.push(claim)
    }
  } catch (error) {
    if (error instanceof Problem) throw error
    throw await explain(error as Error, file, position)
  }
  if (position !== directory.end) throw notZip('its directory has another size')
  return claims
}

/** The parameters of yauzl's reader. Its types lack the number of bytes, which it checks. */
type ReadParameters = [
  target: Buffer,
  offset: number,
  length: number,
  position: number,
  callback: (error: Error | null, bytesRead?: number) => void,
]

/** Lets yauzl read through the window. */
class WindowReader extends RandomAccessReader {
  readonly #file: Window

  constructor(file: Window) {
    super()
    this.#file = file
  }

  override read(...[target, offset, length, position, callback]: ReadParameters) {
    this.#file.read(position, length).then(
      (bytes) => callback(null, bytes?.copy(target, offset) ?? 0),
      (error) => callback(error),
    )
  }
}

/** yauzl stops at a strongly encrypted entry before it returns the name. */
async function explain(error: Error, file: Window, position: number): Promise<Problem> {
  if (!error.message.startsWith('strong encryption')) return notZip('its directory is damaged', error)
  const nameBytes = (await file.read(position, DIRECTORY_HEADER_BYTES))?.readUInt16LE(28) ?? 0
  return encrypted(String((await file.read(position + DIRECTORY_HEADER_BYTES, nameBytes)) ?? ''))
}

function toClaim(raw: RawEntry, limits: ArchiveLimits): Claim {
  const rawName = Buffer.from(raw.fileNameRaw)
  const nameBytes = unicodePath(raw) ?? rawName
  // An entry may have two names, and both are in memory until they are compared.
  if (Math.max(nameBytes.length, rawName.length) > limits.pathBytes)
    throw tooLarge('pathBytes', limits, String(nameBytes))
  const fullName = decodeUtf8(nameBytes)
  if (fullName === undefined) throw unsafe(String(nameBytes), 'a name that is not UTF-8')
  const name = fullName.endsWith('/') && fullName !== '/' ? fullName.slice(0, -1) : fullName
  const fault = faultOfName(name)
  if (fault !== undefined) throw unsafe(fullName, fault)

  const { generalPurposeBitFlag: flags, compressionMethod: method, compressedSize, uncompressedSize } = raw
  if (flags & FLAGS_ENCRYPTED) throw encrypted(name)
  if (method !== METHOD.stored && method !== METHOD.deflated) throw unsafe(name, 'compression method')
  if (method === METHOD.stored && compressedSize !== uncompressedSize) {
    throw sizeLies(name, 'stored, but with two sizes')
  }
  if (uncompressedSize > compressedSize * MAX_DEFLATE_RATIO) throw sizeLies(name, 'larger than deflate can make it')
  if (compressedSize > maxDeflatedBytes(uncompressedSize)) throw sizeLies(name, 'smaller than deflate can make it')

  const mode = raw.externalFileAttributes >>> 16
  const kind = kindOf(name, mode, fullName !== name)
  if (kind === 'folder' && uncompressedSize > 0) throw unsafe(name, 'a folder with content')
  return {
    name,
    kind,
    isExecutable: (mode & 0o111) !== 0,
    isDeflated: method === METHOD.deflated,
    compressedBytes: compressedSize,
    bytes: uncompressedSize,
    crc32: raw.crc32,
    dataStart: 0,
    rawName,
    flags,
    headerStart: raw.relativeOffsetOfLocalHeader,
  }
}

/** The name in UTF-8 from the Info-ZIP extra field, valid only if its checksum is that of the name in the header. */
function unicodePath({ extraFields, fileNameRaw }: RawEntry): Buffer | undefined {
  const data = extraFields.find(({ id }) => id === 0x7075)?.data
  if (!data || data.length < 6 || data[0] !== 1 || data.readUInt32LE(1) !== crc32(fileNameRaw)) return undefined
  return data.subarray(5)
}

const KINDS = new Map([
  [0o010000, 'a named pipe'],
  [0o020000, 'a device'],
  [0o060000, 'a device'],
  [0o140000, 'a socket'],
])

/** By the Unix mode, whichever system made the entry: other readers act on the mode too. */
function kindOf(name: string, mode: number, endsInSlash: boolean): ZipEntry['kind'] {
  const type = mode & 0o170000
  if (type === 0 || type === 0o100000) return endsInSlash ? 'folder' : 'file'
  if (type === 0o040000 && endsInSlash) return 'folder'
  if (type === 0o120000 && !endsInSlash) return 'link'
  throw unsafe(name, KINDS.get(type) ?? 'a kind that does not fit the name')
}

/**
 * Reads the local header of each entry, in the order of the file, and compares it with the directory. Entries that overlap
 * are refused: data that many entries share would be inflated many times (zip bombs).
 */
async function confirm(file: Window, directory: Directory, claims: Claim[]) {
  let end = 0
  for (const claim of claims.toSorted((a, b) => a.headerStart - b.headerStart)) {
    const { name, headerStart } = claim
    if (headerStart < end) throw unsafe(name, 'overlaps another entry')
    if (end === 0 && headerStart > 0) throw notZip('there is data before its first entry')
    const header = await file.read(headerStart, HEADER.bytes + claim.rawName.length)
    if (header?.readUInt32LE(0) !== HEADER.signature) throw notZip(`an entry is not where its directory says`)
    const fault = disagreement(header, claim)
    if (fault !== undefined) throw unsafe(name, fault)
    if (hasOtherSizes(header, claim)) throw sizeLies(name, 'its two headers have two sizes')
    claim.dataStart = headerStart + HEADER.bytes + header.readUInt16LE(26) + header.readUInt16LE(28)
    end = claim.dataStart + claim.compressedBytes
    if (end > directory.start) throw sizeLies(name, 'its data goes on into the directory')
  }
}

function disagreement(header: Buffer, { rawName, flags, isDeflated }: Claim): string | undefined {
  if (header.readUInt16LE(26) !== rawName.length || !header.subarray(HEADER.bytes).equals(rawName)) {
    return 'its two headers have two names'
  }
  if (header.readUInt16LE(8) !== (isDeflated ? METHOD.deflated : METHOD.stored)) {
    return 'its two headers have two compression methods'
  }
  if ((header.readUInt16LE(6) ^ flags) & FLAGS_COMPARED) return 'its two headers have two sets of flags'
  return undefined
}

/** A local header has the sizes, unless they follow the data or are in a zip64 field. */
function hasOtherSizes(header: Buffer, { compressedBytes, bytes, crc32 }: Claim): boolean {
  if (header.readUInt16LE(6) & FLAG.sizesFollow) return false
  const differs = (at: number, value: number) => ![value, 0xffffffff].includes(header.readUInt32LE(at))
  return header.readUInt32LE(14) !== crc32 || differs(18, compressedBytes) || differs(22, bytes)
}
