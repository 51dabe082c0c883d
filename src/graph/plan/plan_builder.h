#pragma once
/// Builds a plan by running the functions below in order. Internal to graph/.

#include "unfold/graph/plan/plan.h"

namespace unfold {

class PlanBuilder {
 public:
  PlanBuilder(Plan& plan, const Circuit& circuit, std::vector<int> outputs, const PlanOptions& options);
  void build();

 private:
  struct Use {
    int consumer;  ///< node
    int operand;   ///< index of the operand or term; -1: source of a link
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static bool is_shift(const Node& node) {
    return node.kind() == Node::Kind::link && node.link().delay.along == Delay::Along::previous;
  }
  Node& node(int i) { return plan_.nodes_[at(i)]; }
  int count() const { return static_cast<int>(plan_.nodes_.size()); }

  // plan_builder.cpp: order of execution
  void find_live();
  void find_components();
  void choose_corners();
  void add_exits();
  void add_reorders();
  int add_node(Node node, int component, Corner corner);
  int add_reorder(int source, const char* suffix, Corner corner);
  void choose_stages();
  int stage_of(int component);
  bool same_loop(int a, int b) const { return component_[at(a)] == component_[at(b)] && loop_[at(component_[at(a)])]; }
  void make_segments();
  void order_items(Segment& segment, std::vector<Item> units);
  std::vector<int> unit_sources(const Segment& segment, const Item& unit) const;
  bool hoistable(int i) const;
  Item affine_item(int i, bool hoisted_part, bool inner_part) const;

  // plan_storage.cpp: placement in memory
  void find_uses();
  void place_values();
  bool may_stay_in_tile(int i, bool for_values) const;
  bool free_after(int x, int reader) const;
  bool only_maps_read(int i) const;
  void place_maps(const Item& item, std::vector<Place>& places);
  bool needed_by_backward(int i) const;
  Place resolve(const std::vector<Place>& places, int i) const;
  void place_adjoints();
  void choose_adjoint_modes();
  bool simulate_writers();
  void find_carried();

  Plan& plan_;
  PlanOptions options_;
  std::vector<int> component_;  ///< component of each node
  std::vector<char> loop_;      ///< for each component: whether it is a loop
  std::vector<int> stage_;      ///< stage of each component; -1: not yet known
  std::vector<std::vector<Use>> uses_;
  std::vector<int> item_of_;  ///< index of the item that computes a node
};

}  // namespace unfold
