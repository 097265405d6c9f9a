/** The input of a tool that takes none. */
export const NOTHING = { type: 'object', properties: {} } as const

/** An answer with this one text in it, which must be there. */
export const oneText = (name: string) => ({
  type: 'object',
  properties: { [name]: { type: 'string' } },
  required: [name],
})
