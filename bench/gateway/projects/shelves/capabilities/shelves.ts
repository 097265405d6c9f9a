import { defineCapability, defineTool } from 'quartermaster'

const shelf = (n: number) =>
  defineTool({
    name: `look_at_shelf_${n}`,
    title: `Look at shelf ${n}`,
    short: `Lists the books on shelf ${n}.`,
    input: {
      type: 'object',
      properties: {
        query: { type: 'string', description: `What to look for on shelf ${n}.` },
        limit: { type: 'integer', minimum: 1, maximum: 100 },
      },
      required: ['query'],
    },
    mutates: false,
    handler: () => `Shelf ${n} is empty.`,
  })

const tools = Array.from({ length: 200 }, (_, n) => shelf(n))

export default defineCapability({ key: 'shelves', short: 'Shelves.', tools })
