/** Editors who preview unpublished content say so by a cookie: they must never see, nor leave, what is for everybody. */

const PREVIEW = /(?:^|;)\s*(?:__prerender_bypass|__next_preview_data)=/

export const isPreview = (cookie: string): boolean => cookie.includes('__') && PREVIEW.test(cookie)
