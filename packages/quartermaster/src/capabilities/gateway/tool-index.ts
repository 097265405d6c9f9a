import { setImmediate } from 'node:timers/promises'
import type { GatewayConfig } from '../../core/agents/index.ts'
import type { Tool } from '../../core/catalogue/index.ts'
import { createSearchIndex, type SearchDocument, type SearchIndex } from '../../core/search/index.ts'
import { toolDocument } from './tool-document.ts'

type Generation = GatewayConfig['generation']

/** A search index over all tools, by name. It is brought up to date when somebody searches, and only then. */
export interface ToolIndex {
  /** The index, once it knows this generation or a later one. */
  upTo(generation: Generation): Promise<SearchIndex<string>>
}

/** How long bringing it up to date may hold the event loop at a stretch: there may be ten thousand tools to read. */
const TURN_MS = 5

/** An index that nobody has asked yet. */
export function createToolIndex(): ToolIndex {
  const index = createSearchIndex<string>()
  const indexed = new Map<string, Tool>()
  let known = 0
  let updating = Promise.resolve()

  /** What is the same object is the same definition; what was only built anew has the same hash. */
  function read(tool: Tool): void {
    const before = indexed.get(tool.name)
    if (before === tool) return
    if (before === undefined || before.hash !== tool.hash) index.add(documentOf(tool), tool.name)
    indexed.set(tool.name, tool)
  }

  async function update(generation: Generation): Promise<void> {
    if (generation.number <= known) return
    let turnEnds = performance.now() + TURN_MS
    for (const tool of generation.tools.values()) {
      read(tool)
      if (performance.now() < turnEnds) continue
      await setImmediate()
      turnEnds = performance.now() + TURN_MS
    }
    for (const name of indexed.keys()) {
      if (!generation.tools.has(name) && indexed.delete(name)) index.remove(name)
    }
    known = generation.number
  }

  return {
    async upTo(generation) {
      if (generation.number > known) {
        // One after the other: those who ask meanwhile wait for the same work.
        const work = updating.then(() => update(generation))
        // Whoever waits for this one hears what went wrong; the next begins anew.
        updating = work.catch(() => {})
        await work
      }
      return index
    },
  }
}

/** A tool whose words cannot be read is found by its name: it must not keep anybody from finding the others. */
function documentOf(tool: Tool): SearchDocument {
  try {
    return toolDocument(tool)
  } catch {
    return { id: tool.name, name: tool.name, title: tool.title, text: tool.short }
  }
}
