// A list of things with columns: a table where there is room, cards where there is not.
import { NativeSelect, VisuallyHidden } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { memo, type ReactNode } from 'react'
import { cx } from './cx.ts'
import { keepFocusOnRemoval } from './focus.ts'
import { Icon } from './icon.tsx'
import classes from './list.module.css'
import surface from './surface.module.css'
import table from './table.module.css'
import text from './text.module.css'

export interface Item {
  readonly _id: string
}

export interface Column<Row> {
  readonly header: string
  readonly cell: (row: Row) => ReactNode
  /** Instead of `cell` in a card. */
  readonly cardCell?: (row: Row) => ReactNode
  /** False for what a table shows within another cell. */
  readonly inTable?: false
  /** Where a card has it: in the first line, on a line of its own, among the labelled facts, or nowhere. */
  readonly card: 'head' | 'line' | 'fact' | 'none'
  /** `name`: what the row is called. `actions`: its buttons, at the end; the header is then only read out. */
  readonly role?: 'name' | 'actions'
  /** By what the service puts the list in order, and the two orders in words. */
  readonly sort?: { readonly by: string; readonly ascending: string; readonly descending: string }
}

/** The order of the list, as the service has it: a field, with a minus in front for the descending order. */
export interface Sorting {
  readonly order: string
  readonly change: (order: string) => void
}

interface Selection<Row> {
  readonly ids: ReadonlySet<string>
  /** Keep it stable, so that a row is drawn again only when it changes itself. */
  readonly select: (row: Row, selected: boolean) => void
  readonly selectAll: (selected: boolean) => void
  readonly nameOf: (row: Row) => string
}

export interface ListProps<Row> {
  readonly label: string
  readonly items: readonly Row[]
  /** Keep them stable, too. */
  readonly columns: readonly Column<Row>[]
  /** Cards below this width of the window. */
  readonly cardsBelow: `${number}em`
  readonly selection?: Selection<Row>
  /** Where it can be put in another order. */
  readonly sorting?: Sorting
}

export function List<Row extends Item>(props: ListProps<Row>) {
  const { label, items, columns, cardsBelow, selection, sorting } = props
  const narrow = useMediaQuery(`(max-width: ${cardsBelow})`, false, { getInitialValueInEffect: false })
  const RowOrCard = narrow ? CardMemo : TableRowMemo
  const rows = items.map((item) => (
    <RowOrCard
      key={item._id}
      row={item}
      columns={columns as readonly Column<never>[]}
      isSelected={selection?.ids.has(item._id)}
      select={selection?.select as Selection<Item>['select'] | undefined}
      nameOf={selection?.nameOf as Selection<Item>['nameOf'] | undefined}
    />
  ))
  if (narrow) {
    return (
      <section aria-label={label}>
        {sorting && <SortSelect columns={columns} sorting={sorting} />}
        {selection && <SelectAll items={items} selection={selection} withText />}
        <ul className={classes.cards}>{rows}</ul>
      </section>
    )
  }
  return (
    <div className={cx(surface.raised, classes.scroll)}>
      <table aria-label={label} className={cx(table.table, classes.rows)}>
        <thead>
          <tr>
            {selection && (
              <th>
                <SelectAll items={items} selection={selection} />
              </th>
            )}
            {columns.filter(isInTable).map((column) => (
              <Header key={column.header} column={column} sorting={sorting} />
            ))}
          </tr>
        </thead>
        <tbody>{rows}</tbody>
      </table>
    </div>
  )
}

const isInTable = ({ inTable }: Column<never>): boolean => inTable !== false

interface HeaderProps {
  readonly column: Column<never>
  readonly sorting: Sorting | undefined
}

/** A click puts the list in the order of the column, another one in the reverse order. */
function Header({ column: { header, role, sort }, sorting }: HeaderProps) {
  if (role === 'actions') {
    return (
      <th>
        <VisuallyHidden>{header}</VisuallyHidden>
      </th>
    )
  }
  if (sort === undefined || sorting === undefined) return <th>{header}</th>
  const { by } = sort
  const isAscending = sorting.order === by
  const isSorted = isAscending || sorting.order === `-${by}`
  return (
    <th aria-sort={isSorted ? (isAscending ? 'ascending' : 'descending') : undefined}>
      <button
        type="button"
        className={classes.sort}
        data-sorted={isSorted || undefined}
        title={isAscending ? sort.descending : sort.ascending}
        onClick={() => sorting.change(isAscending ? `-${by}` : by)}
      >
        {header}
        {isSorted && <Icon name={isAscending ? 'arrow-up' : 'arrow-down'} size={12} />}
      </button>
    </th>
  )
}

/** Of cards, which have no headers. */
function SortSelect({ columns, sorting }: { columns: readonly Column<never>[]; sorting: Sorting }) {
  const orders = columns.flatMap(({ sort }) =>
    sort === undefined
      ? []
      : [
          { value: sort.by, label: sort.ascending },
          { value: `-${sort.by}`, label: sort.descending },
        ],
  )
  return (
    <NativeSelect
      aria-label="Order"
      maw={260}
      mb={10}
      value={sorting.order}
      data={orders}
      onChange={({ currentTarget: { value } }) => sorting.change(value)}
    />
  )
}

interface RowProps {
  readonly row: Item
  readonly columns: readonly Column<never>[]
  readonly isSelected: boolean | undefined
  readonly select: Selection<Item>['select'] | undefined
  readonly nameOf: Selection<Item>['nameOf'] | undefined
}

const TableRowMemo = memo(function TableRow(props: RowProps) {
  const { row, columns, isSelected } = props
  return (
    <tr ref={keepFocusOnRemoval} className={surface.choice} data-id={row._id} data-selected={isSelected || undefined}>
      {isSelected !== undefined && (
        <td>
          <SelectBox {...props} />
        </td>
      )}
      {columns.filter(isInTable).map(({ header, cell, role }) =>
        role === 'name' ? (
          <th key={header} scope="row">
            {cell(row as never)}
          </th>
        ) : (
          <td key={header} data-role={role}>
            {cell(row as never)}
          </td>
        ),
      )}
    </tr>
  )
})

const CardMemo = memo(function Card(props: RowProps) {
  const { row, columns, isSelected } = props
  const facts = columns.filter(({ card }) => card === 'fact')
  return (
    <li
      ref={keepFocusOnRemoval}
      className={cx(surface.raised, surface.choice, classes.card)}
      data-id={row._id}
      data-selected={isSelected || undefined}
    >
      <div className={classes.cardHead}>
        {isSelected !== undefined && <SelectBox {...props} />}
        {columns.map(
          ({ header, cell, cardCell = cell, card }) =>
            card === 'head' && <div key={header}>{cardCell(row as never)}</div>,
        )}
      </div>
      {columns.map(
        ({ header, cell, card, role }) =>
          card === 'line' && role !== 'actions' && <div key={header}>{cell(row as never)}</div>,
      )}
      {facts.length > 0 && (
        <dl>
          {facts.map(({ header, cell }) => (
            <div key={header}>
              <dt className={cx(text.dim, text.small)}>{header}</dt>
              <dd>{cell(row as never)}</dd>
            </div>
          ))}
        </dl>
      )}
      {columns.map(({ header, cell, role }) => role === 'actions' && <div key={header}>{cell(row as never)}</div>)}
    </li>
  )
})

function SelectBox({ row, isSelected, select, nameOf }: RowProps) {
  return (
    <label className={classes.checkBox}>
      <input
        type="checkbox"
        aria-label={`Select ${nameOf?.(row)}`}
        checked={isSelected ?? false}
        onChange={(event) => select?.(row, event.currentTarget.checked)}
      />
    </label>
  )
}

interface SelectAllProps<Row> {
  readonly items: readonly Row[]
  readonly selection: Selection<Row>
  readonly withText?: boolean
}

function SelectAll<Row extends Item>({ items, selection, withText = false }: SelectAllProps<Row>) {
  const count = items.filter(({ _id }) => selection.ids.has(_id)).length
  return (
    <label className={classes.checkBox}>
      <input
        type="checkbox"
        aria-label="Select all on this page"
        checked={items.length > 0 && count === items.length}
        ref={(box) => {
          if (box !== null) box.indeterminate = count > 0 && count < items.length
        }}
        onChange={(event) => selection.selectAll(event.currentTarget.checked)}
      />
      {withText && 'Select all on this page'}
    </label>
  )
}

/** The buttons at the end of a row. */
export function RowActions({ children }: { children: ReactNode }) {
  return <span className={cx(text.line, classes.actions)}>{children}</span>
}
