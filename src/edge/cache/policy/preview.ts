/**
 * Editors who preview unpublished content have a cookie: they must get no cached page, and theirs must not be cached.
 */

const PREVIEW = /(?:^|;)\s*(?:__prerender_bypass|__next_preview_data)=/

export const isPreview = (cookie: string): boolean => cookie.includes('__') && PREVIEW.test(cookie)
