import type { GatewayConfig, Grant } from '../../core/agents/index.ts'
import { isDeprecated } from '../../core/catalogue/index.ts'

type Grants = GatewayConfig['grants']

/** What an agent has, in order of section and name: an order that stays when tools come and go. */
export interface Sections {
  page(grants: Grants, options: PageOptions): { page: readonly Grant[]; total: number; nextCursor?: string }
  /** The sections and how many tools each has; at most a hundred. */
  counts(grants: Grants, section?: string): { section: string; tools: number }[]
}

export interface PageOptions {
  readonly section: string | undefined
  readonly limit: number
  /** The last place of the page before: what was removed since then moves nothing. */
  readonly cursor: string | undefined
}

const MOST_SECTIONS = 100

export function createSections(): Sections {
  // Sorting ten thousand takes longer than all the rest, and grants stay the same object while nothing changes.
  const sorted = new WeakMap<Grants, readonly Grant[]>()
  const inOrder = (grants: Grants, section: string | undefined) => {
    const all = sorted.get(grants) ?? [...grants.values()].sort(bySection)
    sorted.set(grants, all)
    return section === undefined ? all : all.filter(({ tool }) => tool.section === section)
  }
  return {
    page(grants, { section, limit, cursor }) {
      const all = inOrder(grants, section)
      const after = cursor === undefined ? 0 : all.findIndex(grant => compare(placeOf(grant), cursor) > 0)
      const start = after === -1 ? all.length : after
      const page = all.slice(start, start + limit)
      const last = page.at(-1)
      const isMore = last !== undefined && start + limit < all.length
      return { page, total: all.length, ...(isMore ? { nextCursor: placeOf(last) } : {}) }
    },
    counts(grants, section) {
      const counts = new Map<string, number>()
      for (const { tool } of inOrder(grants, section)) counts.set(tool.section, (counts.get(tool.section) ?? 0) + 1)
      return [...counts].slice(0, MOST_SECTIONS).map(([name, tools]) => ({ section: name, tools }))
    },
  }
}

function bySection(a: Grant, b: Grant): number {
  return compare(placeOf(a), placeOf(b))
}

function placeOf({ tool }: Grant): string {
  // Behind all other names of the section.
  return `${tool.section}/${isDeprecated(tool) ? '~' : ''}${tool.name}`
}

/** By character and not by language: a page must go on where the one before ended, whatever the locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
