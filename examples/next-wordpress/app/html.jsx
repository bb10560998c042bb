/** WordPress gives titles and texts as HTML, which its editors wrote. */
export function Html({ as: Element, html }) {
  // biome-ignore lint/security/noDangerouslySetInnerHtml: WordPress leaves out what its editors may not write
  return <Element dangerouslySetInnerHTML={{ __html: html }} />
}
