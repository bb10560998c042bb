export const renderDocs = (document: unknown) => String(document)
