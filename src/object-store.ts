/** The settings of the object store, and what they come to. */
import { Secret } from './base/index.ts'
import { count, optionalUrl, parseBoolean, type Setting, setting } from './setting-texts.ts'

export type ObjectStoreConfig = {
  objectStore: string | undefined
  objectStoreEndpoint: string | undefined
  objectStoreRegion: string
  objectStoreKeyId: string
  objectStoreSecret: Secret | undefined
  objectStorePathStyle: boolean
  objectStoreCacheBytes: number
}

export const OBJECT_STORE_SETTINGS: { [K in keyof ObjectStoreConfig]: Setting<ObjectStoreConfig[K]> } = {
  objectStore: setting(
    '',
    'Bucket for archives, logs, what apps keep in the key-value store and copies of build caches, in a store that has the API of S3, with a prefix that no other service uses: `s3://bucket/prefix`; if none is given, they are on the disk.',
    parseObjectStore,
  ),
  objectStoreEndpoint: setting(
    '',
    "Address of that store; if none is given, that of AWS for the bucket's region.",
    optionalUrl,
  ),
  objectStoreRegion: setting('us-east-1', 'Region of the bucket, as the store names it.', parseRegion),
  objectStoreKeyId: setting('', 'Access key id for that store.', (text) => text),
  objectStoreSecret: {
    ...setting('', 'Its secret access key.', (text) => (text ? new Secret(text) : undefined)),
    isSecret: true,
  },
  objectStorePathStyle: setting(
    'true',
    'Whether the bucket is the first part of the path in requests to the store; `false`: of the host name.',
    parseBoolean,
  ),
  objectStoreCacheBytes: setting(
    '10737418240',
    'Bytes of the disk that copies of what is in the object store may use.',
    count,
  ),
}

/** Undefined where everything is on the disk. Throws if a part is missing. */
export function objectStoreOf(config: ObjectStoreConfig) {
  const { objectStore, objectStoreEndpoint, objectStoreRegion: region, objectStoreKeyId: keyId } = config
  if (objectStore === undefined) return undefined
  const secret = config.objectStoreSecret
  if (!keyId || !secret) {
    throw new Error('The setting objectStore needs objectStoreKeyId and objectStoreSecret.')
  }
  const [, bucket = '', prefix = ''] = FORM.exec(objectStore) ?? []
  const endpoint = new URL(objectStoreEndpoint ?? `https://s3.${region}.amazonaws.com`)
  return { bucket: { bucket, endpoint, region, keyId, secret, isPathStyle: config.objectStorePathStyle }, prefix }
}

const FORM = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9_.-]+(?:\/[A-Za-z0-9_.-]+)*))?\/?$/

function parseObjectStore(text: string): string | undefined {
  if (text === '') return undefined
  const prefix = FORM.exec(text)?.[2] ?? ''
  if (!FORM.test(text) || prefix.split('/').some((name) => /^\.{1,2}$/.test(name)))
    throw new Error('it must be a bucket and a prefix, as in s3://headland/production')
  return text
}

function parseRegion(text: string): string {
  if (!/^[A-Za-z0-9-]{1,64}$/.test(text)) throw new Error('it must be the name of a region, as in eu-central-1')
  return text
}
